"""Programs that ask a real SGLang: they run under its interpreter, without a GPU, and print JSON."""
