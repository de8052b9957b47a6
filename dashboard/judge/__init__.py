"""An LLM judge behind any endpoint that speaks the OpenAI protocol; it writes prediction files in the official form."""
