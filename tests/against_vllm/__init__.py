"""The engine beside vLLM 0.17.1's own scheduler, on workloads that nobody chose."""
