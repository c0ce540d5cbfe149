"""Where posts go when they leave. Each outlet says what it promises, and knows nothing of arrivals."""
