// LRU and SIEVE over numbered objects of one size, for experiments/03_replay_speed: what a compiled language gains over the
// engine. State is flat: object -> slot (0: absent), and per slot its links, its object and, for SIEVE, a visited byte. Slot 0
// heads a circular list from the oldest (next) to the newest (prev). Both return the misses.

#include <cstdint>
#include <cstdlib>

using u32 = std::uint32_t;
using u64 = std::uint64_t;

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
