"""The law: exact delays, labels, the promise, and the checker that proves it or shows it broken."""
