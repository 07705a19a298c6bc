"""target="auto" and devices=[..]: where a call is done first, and how several devices share one."""
