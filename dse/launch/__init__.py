"""Engine launch commands as a user pastes them: vLLM and SGLang, flags to the words of a deployment."""
