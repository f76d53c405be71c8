-- The log: settings, decisions, rewards, expirations and history are only ever appended to.
CREATE TABLE elsv_campaign (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created DOUBLE PRECISION NOT NULL,
  problem TEXT NOT NULL,
  seed BIGINT NOT NULL,
  version BIGINT NOT NULL,
  events BIGINT NOT NULL,
  decisions BIGINT NOT NULL
);
CREATE TABLE elsv_setting (
  campaign BIGINT NOT NULL REFERENCES elsv_campaign (id),
  version BIGINT NOT NULL,
  event BIGINT NOT NULL,
  at DOUBLE PRECISION NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (campaign, version)
);
CREATE TABLE elsv_decision (
  campaign BIGINT NOT NULL REFERENCES elsv_campaign (id),
  number BIGINT NOT NULL,
  event BIGINT NOT NULL,
  id TEXT NOT NULL UNIQUE,
  arm BIGINT NOT NULL,
  propensity DOUBLE PRECISION NOT NULL,
  propensities TEXT NOT NULL,
  reason TEXT NOT NULL,
  at DOUBLE PRECISION NOT NULL,
  expires DOUBLE PRECISION,
  customer TEXT,
  version BIGINT NOT NULL,
  PRIMARY KEY (campaign, number)
);
CREATE TABLE elsv_request (
  campaign BIGINT NOT NULL,
  request TEXT NOT NULL,
  place BIGINT NOT NULL,
  number BIGINT NOT NULL,
  PRIMARY KEY (campaign, request, place),
  FOREIGN KEY (campaign, number) REFERENCES elsv_decision (campaign, number)
);
CREATE TABLE elsv_reward (
  campaign BIGINT NOT NULL,
  number BIGINT NOT NULL,
  event BIGINT NOT NULL,
  at DOUBLE PRECISION NOT NULL,
  success BIGINT NOT NULL CHECK (success IN (0, 1)),
  late BIGINT NOT NULL CHECK (late IN (0, 1)),
  counted BIGINT NOT NULL CHECK (counted IN (0, 1)),
  PRIMARY KEY (campaign, number),
  FOREIGN KEY (campaign, number) REFERENCES elsv_decision (campaign, number)
);
CREATE TABLE elsv_expiration (
  campaign BIGINT NOT NULL,
  number BIGINT NOT NULL,
  event BIGINT NOT NULL,
  at DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (campaign, number),
  FOREIGN KEY (campaign, number) REFERENCES elsv_decision (campaign, number)
);
CREATE TABLE elsv_history (
  campaign BIGINT NOT NULL REFERENCES elsv_campaign (id),
  source TEXT NOT NULL,
  arm BIGINT NOT NULL,
  event BIGINT NOT NULL,
  at DOUBLE PRECISION NOT NULL,
  successes BIGINT NOT NULL,
  failures BIGINT NOT NULL,
  PRIMARY KEY (campaign, source, arm)
);
-- What follows from the log, kept up to date in the same transactions: `audit` computes it anew.
CREATE TABLE elsv_open (
  campaign BIGINT NOT NULL,
  number BIGINT NOT NULL,
  arm BIGINT NOT NULL,
  propensity DOUBLE PRECISION NOT NULL,
  expires DOUBLE PRECISION,
  customer TEXT,
  PRIMARY KEY (campaign, number)
);
CREATE INDEX elsv_open_expires ON elsv_open (campaign, expires) WHERE expires IS NOT NULL;
CREATE INDEX elsv_open_customer ON elsv_open (campaign, customer) WHERE customer IS NOT NULL;
CREATE TABLE elsv_tally (
  campaign BIGINT NOT NULL REFERENCES elsv_campaign (id),
  arm BIGINT NOT NULL,
  decided BIGINT NOT NULL DEFAULT 0,
  open BIGINT NOT NULL DEFAULT 0,
  successes BIGINT NOT NULL DEFAULT 0,
  failures BIGINT NOT NULL DEFAULT 0,
  expired BIGINT NOT NULL DEFAULT 0,
  late BIGINT NOT NULL DEFAULT 0,
  unsupported BIGINT NOT NULL DEFAULT 0,
  won_weight BIGINT NOT NULL DEFAULT 0,
  won_squares BIGINT NOT NULL DEFAULT 0,
  lost_weight BIGINT NOT NULL DEFAULT 0,
  lost_squares BIGINT NOT NULL DEFAULT 0,
  past_successes BIGINT NOT NULL DEFAULT 0,
  past_failures BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (campaign, arm)
);
