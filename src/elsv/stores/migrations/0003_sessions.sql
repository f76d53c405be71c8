-- Browsers that have logged in to the service: SHA-256 of the cookie, SHA-256 of the token, seconds since 1970.
CREATE TABLE elsv_session (cookie TEXT PRIMARY KEY, token TEXT NOT NULL, made DOUBLE PRECISION NOT NULL);
