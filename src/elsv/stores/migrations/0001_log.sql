-- The log: settings, decisions, rewards, expirations and history are only ever appended to.
CREATE TABLE elsv_campaign (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created REAL NOT NULL,
  problem TEXT NOT NULL,
  seed INTEGER NOT NULL,
  version INTEGER NOT NULL,
  events INTEGER NOT NULL,
  decisions INTEGER NOT NULL
);
CREATE TABLE elsv_setting (
  campaign INTEGER NOT NULL REFERENCES elsv_campaign (id),
  version INTEGER NOT NULL,
  event INTEGER NOT NULL,
  at REAL NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (campaign, version)
);
CREATE TABLE elsv_decision (
  campaign INTEGER NOT NULL REFERENCES elsv_campaign (id),
  number INTEGER NOT NULL,
  event INTEGER NOT NULL,
  id TEXT NOT NULL UNIQUE,
  arm INTEGER NOT NULL,
  propensity REAL NOT NULL,
  propensities TEXT NOT NULL,
  reason TEXT NOT NULL,
  at REAL NOT NULL,
  expires REAL,
  customer TEXT,
  version INTEGER NOT NULL,
  PRIMARY KEY (campaign, number)
) WITHOUT ROWID;
CREATE TABLE elsv_request (
  campaign INTEGER NOT NULL,
  request TEXT NOT NULL,
  place INTEGER NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (campaign, request, place),
  FOREIGN KEY (campaign, number) REFERENCES elsv_decision (campaign, number)
) WITHOUT ROWID;
CREATE TABLE elsv_reward (
  campaign INTEGER NOT NULL,
  number INTEGER NOT NULL,
  event INTEGER NOT NULL,
  at REAL NOT NULL,
  success INTEGER NOT NULL CHECK (success IN (0, 1)),
  late INTEGER NOT NULL CHECK (late IN (0, 1)),
  counted INTEGER NOT NULL CHECK (counted IN (0, 1)),
  PRIMARY KEY (campaign, number),
  FOREIGN KEY (campaign, number) REFERENCES elsv_decision (campaign, number)
) WITHOUT ROWID;
CREATE TABLE elsv_expiration (
  campaign INTEGER NOT NULL,
  number INTEGER NOT NULL,
  event INTEGER NOT NULL,
  at REAL NOT NULL,
  PRIMARY KEY (campaign, number),
  FOREIGN KEY (campaign, number) REFERENCES elsv_decision (campaign, number)
) WITHOUT ROWID;
CREATE TABLE elsv_history (
  campaign INTEGER NOT NULL REFERENCES elsv_campaign (id),
  source TEXT NOT NULL,
  arm INTEGER NOT NULL,
  event INTEGER NOT NULL,
  at REAL NOT NULL,
  successes INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  PRIMARY KEY (campaign, source, arm)
) WITHOUT ROWID;
-- What follows from the log, kept up to date in the same transactions: `audit` computes it anew.
CREATE TABLE elsv_open (
  campaign INTEGER NOT NULL,
  number INTEGER NOT NULL,
  arm INTEGER NOT NULL,
  propensity REAL NOT NULL,
  expires REAL,
  customer TEXT,
  PRIMARY KEY (campaign, number)
) WITHOUT ROWID;
CREATE INDEX elsv_open_expires ON elsv_open (campaign, expires) WHERE expires IS NOT NULL;
CREATE INDEX elsv_open_customer ON elsv_open (campaign, customer) WHERE customer IS NOT NULL;
CREATE TABLE elsv_tally (
  campaign INTEGER NOT NULL REFERENCES elsv_campaign (id),
  arm INTEGER NOT NULL,
  decided INTEGER NOT NULL DEFAULT 0,
  open INTEGER NOT NULL DEFAULT 0,
  successes INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  expired INTEGER NOT NULL DEFAULT 0,
  late INTEGER NOT NULL DEFAULT 0,
  unsupported INTEGER NOT NULL DEFAULT 0,
  won_weight INTEGER NOT NULL DEFAULT 0,
  won_squares INTEGER NOT NULL DEFAULT 0,
  lost_weight INTEGER NOT NULL DEFAULT 0,
  lost_squares INTEGER NOT NULL DEFAULT 0,
  past_successes INTEGER NOT NULL DEFAULT 0,
  past_failures INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (campaign, arm)
) WITHOUT ROWID;
