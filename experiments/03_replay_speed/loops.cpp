// LRU and SIEVE over numbered objects, for experiments/03_replay_speed: what a compiled language gains over the engine. State is
// flat: object -> slot (0: absent), and per slot its links, its object and, for SIEVE, a visited byte. Slot 0 heads a circular list
// from the oldest (next) to the newest (prev). All return the misses. Of the two with sizes, capacity counts bytes; what leaves
// gives its slot to the newcomer or to a list of free slots.

#include <cstdint>
#include <cstdlib>

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

namespace {

struct Link {
    u32 prev, next;
};

template <class T>
T *zeros(u64 count) {
    return static_cast<T *>(std::calloc(count, sizeof(T)));
}

inline void unlink(Link *link, u32 i) {
    const Link at = link[i];
    link[at.prev].next = at.next;
    link[at.next].prev = at.prev;
}

inline void append(Link *link, u32 i) {
    const u32 newest = link[0].prev;
    link[i] = {newest, 0};
    link[newest].next = i;
    link[0].prev = i;
}

}  // namespace

extern "C" u64 lru(const u32 *ids, u64 n, u32 n_objects, u32 capacity) {
    u32 *slot = zeros<u32>(n_objects), *owner = zeros<u32>(u64(capacity) + 1);
    Link *link = zeros<Link>(u64(capacity) + 1);
    u32 count = 0;
    u64 misses = 0;
    for (u64 k = 0; k < n; k++) {
        const u32 id = ids[k];
        u32 i = slot[id];
        if (i) {
            unlink(link, i);
        } else {
            misses++;
            if (count < capacity) {
                i = ++count;
            } else {
                i = link[0].next;
                unlink(link, i);
                slot[owner[i]] = 0;
            }
            owner[i] = id;
            slot[id] = i;
        }
        append(link, i);
    }
    std::free(slot);
    std::free(owner);
    std::free(link);
    return misses;
}

extern "C" u64 sieve(const u32 *ids, u64 n, u32 n_objects, u32 capacity) {
    u32 *slot = zeros<u32>(n_objects), *owner = zeros<u32>(u64(capacity) + 1);
    Link *link = zeros<Link>(u64(capacity) + 1);
    std::uint8_t *visited = zeros<std::uint8_t>(u64(capacity) + 1);
    u32 count = 0, hand = 0;
    u64 misses = 0;
    for (u64 k = 0; k < n; k++) {
        const u32 id = ids[k];
        u32 i = slot[id];
        if (i) {
            visited[i] = 1;
            continue;
        }
        misses++;
        if (count < capacity) {
            i = ++count;
        } else {
            i = hand ? hand : link[0].next;
            while (visited[i]) {
                visited[i] = 0;
                i = link[i].next;
                if (!i) i = link[0].next;
            }
            hand = link[i].next;
            unlink(link, i);
            slot[owner[i]] = 0;
        }
        owner[i] = id;
        slot[id] = i;
        append(link, i);
    }
    std::free(slot);
    std::free(owner);
    std::free(link);
    std::free(visited);
    return misses;
}

namespace {

// Residents of several sizes; `slots` is the most there can be.
struct Store {
    u32 *slot, *owner;
    Link *link;
    i64 *size;
    i64 used = 0;
    u32 fresh = 0, free = 0;

    Store(u32 n_objects, u64 slots)
        : slot(zeros<u32>(n_objects)), owner(zeros<u32>(slots + 1)), link(zeros<Link>(slots + 1)), size(zeros<i64>(slots + 1)) {}

    ~Store() {
        std::free(slot);
        std::free(owner);
        std::free(link);
        std::free(size);
    }

    // `victim` chooses whom to evict while there is no room.
    template <class Victim>
    u32 place(u32 id, i64 bytes, i64 capacity, Victim victim) {
        u32 i = 0;
        for (used += bytes; used > capacity;) {
            if (i) {
                link[i].next = free;
                free = i;
            }
            i = victim();
            unlink(link, i);
            used -= size[i];
            slot[owner[i]] = 0;
        }
        if (!i) {
            i = free;
            if (i)
                free = link[i].next;
            else
                i = ++fresh;
        }
        owner[i] = id;
        size[i] = bytes;
        slot[id] = i;
        return i;
    }
};

}  // namespace

extern "C" u64 lru_sized(const u32 *ids, const i64 *sizes, u64 n, u32 n_objects, i64 capacity) {
    Store store(n_objects, n_objects);
    u64 misses = 0;
    for (u64 k = 0; k < n; k++) {
        u32 i = store.slot[ids[k]];
        if (i) {
            unlink(store.link, i);
        } else {
            misses++;
            if (sizes[k] > capacity) continue;
            i = store.place(ids[k], sizes[k], capacity, [&] { return store.link[0].next; });
        }
        append(store.link, i);
    }
    return misses;
}

extern "C" u64 sieve_sized(const u32 *ids, const i64 *sizes, u64 n, u32 n_objects, i64 capacity) {
    Store store(n_objects, n_objects);
    std::uint8_t *visited = zeros<std::uint8_t>(u64(n_objects) + 1);
    u32 hand = 0;
    u64 misses = 0;
    for (u64 k = 0; k < n; k++) {
        u32 i = store.slot[ids[k]];
        if (i) {
            visited[i] = 1;
            continue;
        }
        misses++;
        if (sizes[k] > capacity) continue;
        i = store.place(ids[k], sizes[k], capacity, [&] {
            u32 at = hand ? hand : store.link[0].next;
            while (visited[at]) {
                visited[at] = 0;
                at = store.link[at].next;
                if (!at) at = store.link[0].next;
            }
            hand = store.link[at].next;
            return at;
        });
        append(store.link, i);
    }
    std::free(visited);
    return misses;
}
