"""What programs ask about devices, mixed precision and compilers that are not there."""
