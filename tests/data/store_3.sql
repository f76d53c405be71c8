-- Written by the elsv that had migrations up to 3.
BEGIN TRANSACTION;
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
INSERT INTO "elsv_campaign" VALUES(1,'spring/summer',1000000.0,'{"rewards": [0.6, 0.8, 1.0], "horizon": 60, "prior": [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], "names": ["big", "small", "none"]}',7,4,26,11);
INSERT INTO "elsv_campaign" VALUES(2,'segments',1090000.0,'{"rewards": [0.5, 1.0, 0.5, 1.0], "horizon": 40, "prior": [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], "names": ["arm 1", "arm 2", "arm 3", "arm 4"], "segments": {"new": [1, 2], "known": [3, 4]}}',3,1,4,3);
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
  version INTEGER NOT NULL, segment INTEGER,
  PRIMARY KEY (campaign, number)
) WITHOUT ROWID;
INSERT INTO "elsv_decision" VALUES(1,1,2,'00000000000000000000000000000001',0,0.3,'0.29999999999999999,0.29999999999999999,0.40000000000000002','floor',1000000.0,1086400.0,NULL,1,NULL);
INSERT INTO "elsv_decision" VALUES(1,2,3,'00000000000000000000000000000002',2,0.4,'0.29999999999999999,0.29999999999999999,0.40000000000000002','policy',1000000.0,1086400.0,NULL,1,NULL);
INSERT INTO "elsv_decision" VALUES(1,3,4,'00000000000000000000000000000003',0,0.3,'0.29999999999999999,0.29999999999999999,0.40000000000000002','policy',1000000.0,1086400.0,NULL,1,NULL);
INSERT INTO "elsv_decision" VALUES(1,4,5,'00000000000000000000000000000004',1,0.3,'0.29999999999999999,0.29999999999999999,0.40000000000000002','policy',1000000.0,1086400.0,NULL,1,NULL);
INSERT INTO "elsv_decision" VALUES(1,5,6,'00000000000000000000000000000005',2,0.4,'0.29999999999999999,0.29999999999999999,0.40000000000000002','holdout',1000000.0,1086400.0,NULL,1,NULL);
INSERT INTO "elsv_decision" VALUES(1,6,7,'00000000000000000000000000000006',2,0.4,'0.29999999999999999,0.29999999999999999,0.40000000000000002','policy',1000000.0,1086400.0,NULL,1,NULL);
INSERT INTO "elsv_decision" VALUES(1,7,8,'00000000000000000000000000000007',0,0.3,'0.29999999999999999,0.29999999999999999,0.40000000000000002','floor',1000000.0,1086400.0,NULL,1,NULL);
INSERT INTO "elsv_decision" VALUES(1,8,9,'00000000000000000000000000000008',0,0.3,'0.29999999999999999,0.29999999999999999,0.40000000000000002','policy',1000000.0,1086400.0,NULL,1,NULL);
INSERT INTO "elsv_decision" VALUES(1,9,10,'00000000000000000000000000000009',2,0.4,'0.29999999999999999,0.29999999999999999,0.40000000000000002','policy',1000000.0,1086400.0,'Zoë',1,NULL);
INSERT INTO "elsv_decision" VALUES(1,10,22,'0000000000000000000000000000000a',2,1.0,'0,0,1','paused',1090000.0,1176400.0,'b',2,NULL);
INSERT INTO "elsv_decision" VALUES(1,11,26,'0000000000000000000000000000000b',1,0.3,'0.29999999999999999,0.29999999999999999,0.40000000000000002','policy',1090000.0,1176400.0,'late',4,NULL);
INSERT INTO "elsv_decision" VALUES(2,1,2,'0000000000000000000000000000000c',0,0.5,'0.5,0.5,,','policy',1090000.0,NULL,NULL,1,0);
INSERT INTO "elsv_decision" VALUES(2,2,3,'0000000000000000000000000000000d',0,0.5,'0.5,0.5,,','policy',1090000.0,NULL,NULL,1,0);
INSERT INTO "elsv_decision" VALUES(2,3,4,'0000000000000000000000000000000e',2,0.5,',,0.5,0.5','policy',1090000.0,NULL,'k',1,1);
CREATE TABLE elsv_expiration (
  campaign INTEGER NOT NULL,
  number INTEGER NOT NULL,
  event INTEGER NOT NULL,
  at REAL NOT NULL,
  PRIMARY KEY (campaign, number),
  FOREIGN KEY (campaign, number) REFERENCES elsv_decision (campaign, number)
) WITHOUT ROWID;
INSERT INTO "elsv_expiration" VALUES(1,5,15,1090000.0);
INSERT INTO "elsv_expiration" VALUES(1,6,16,1090000.0);
INSERT INTO "elsv_expiration" VALUES(1,7,17,1090000.0);
INSERT INTO "elsv_expiration" VALUES(1,8,18,1090000.0);
INSERT INTO "elsv_expiration" VALUES(1,9,19,1090000.0);
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
INSERT INTO "elsv_history" VALUES(1,'59b44af52c4576d79e3b1cf4ac29b6fb1ff5d9bd66d73000a6d48a7a594596e3',0,25,1090000.0,3,4);
CREATE TABLE elsv_migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL, at DOUBLE PRECISION NOT NULL);
INSERT INTO "elsv_migration" VALUES(1,'0001_log.sql',0.0);
INSERT INTO "elsv_migration" VALUES(2,'0002_segments.sql',0.0);
INSERT INTO "elsv_migration" VALUES(3,'0003_sessions.sql',0.0);
CREATE TABLE elsv_open (
  campaign INTEGER NOT NULL,
  number INTEGER NOT NULL,
  arm INTEGER NOT NULL,
  propensity REAL NOT NULL,
  expires REAL,
  customer TEXT,
  PRIMARY KEY (campaign, number)
) WITHOUT ROWID;
INSERT INTO "elsv_open" VALUES(1,10,2,1.0,1176400.0,'b');
INSERT INTO "elsv_open" VALUES(1,11,1,0.3,1176400.0,'late');
INSERT INTO "elsv_open" VALUES(2,1,0,0.5,NULL,NULL);
INSERT INTO "elsv_open" VALUES(2,2,0,0.5,NULL,NULL);
INSERT INTO "elsv_open" VALUES(2,3,2,0.5,NULL,'k');
CREATE TABLE elsv_request (
  campaign INTEGER NOT NULL,
  request TEXT NOT NULL,
  place INTEGER NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (campaign, request, place),
  FOREIGN KEY (campaign, number) REFERENCES elsv_decision (campaign, number)
) WITHOUT ROWID;
INSERT INTO "elsv_request" VALUES(1,'first',0,1);
INSERT INTO "elsv_request" VALUES(1,'first',1,2);
INSERT INTO "elsv_request" VALUES(1,'first',2,3);
INSERT INTO "elsv_request" VALUES(1,'first',3,4);
INSERT INTO "elsv_request" VALUES(1,'first',4,5);
INSERT INTO "elsv_request" VALUES(1,'first',5,6);
INSERT INTO "elsv_request" VALUES(1,'first',6,7);
INSERT INTO "elsv_request" VALUES(1,'first',7,8);
INSERT INTO "elsv_request" VALUES(1,'visit-1',0,9);
INSERT INTO "elsv_request" VALUES(2,'k1',0,3);
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
INSERT INTO "elsv_reward" VALUES(1,1,11,1000000.0,1,0,1);
INSERT INTO "elsv_reward" VALUES(1,2,12,1000000.0,0,0,1);
INSERT INTO "elsv_reward" VALUES(1,3,13,1000000.0,1,0,1);
INSERT INTO "elsv_reward" VALUES(1,4,14,1000000.0,0,0,1);
INSERT INTO "elsv_reward" VALUES(1,6,20,1090000.0,1,1,1);
CREATE TABLE elsv_session (cookie TEXT PRIMARY KEY, token TEXT NOT NULL, made DOUBLE PRECISION NOT NULL);
CREATE TABLE elsv_setting (
  campaign INTEGER NOT NULL REFERENCES elsv_campaign (id),
  version INTEGER NOT NULL,
  event INTEGER NOT NULL,
  at REAL NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (campaign, version)
);
INSERT INTO "elsv_setting" VALUES(1,1,1,1000000.0,'{"policy": "random", "horizon": 60, "window": 86400.0, "accept_late": true, "sticky": true, "floor": 0.05, "holdout": 0.1, "control": 2, "fallback": null, "paused": false, "unit": "EUR"}');
INSERT INTO "elsv_setting" VALUES(1,2,21,1090000.0,'{"policy": "random", "horizon": 60, "window": 86400.0, "accept_late": true, "sticky": true, "floor": 0.05, "holdout": 0.1, "control": 2, "fallback": null, "paused": true, "unit": "EUR"}');
INSERT INTO "elsv_setting" VALUES(1,3,23,1090000.0,'{"policy": "random", "horizon": 60, "window": 86400.0, "accept_late": true, "sticky": true, "floor": 0.05, "holdout": 0.1, "control": 2, "fallback": null, "paused": false, "unit": "EUR"}');
INSERT INTO "elsv_setting" VALUES(1,4,24,1090000.0,'{"policy": "random", "horizon": 80, "window": 86400.0, "accept_late": true, "sticky": true, "floor": 0.05, "holdout": 0.1, "control": 2, "fallback": null, "paused": false, "unit": "EUR"}');
INSERT INTO "elsv_setting" VALUES(2,1,1,1090000.0,'{"policy": "random", "horizon": 40, "window": null, "accept_late": true, "sticky": true, "floor": 0.0, "holdout": 0.0, "control": null, "fallback": null, "paused": false, "unit": ""}');
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
INSERT INTO "elsv_tally" VALUES(1,0,4,0,2,0,2,0,1,6990506,22756,6990506,22756,3,4);
INSERT INTO "elsv_tally" VALUES(1,1,2,1,0,1,0,0,1,0,0,3495253,11378,0,0);
INSERT INTO "elsv_tally" VALUES(1,2,5,1,1,1,2,1,0,2621440,6400,7864320,19200,0,0);
INSERT INTO "elsv_tally" VALUES(2,0,2,2,0,0,0,0,0,0,0,0,0,0,0);
INSERT INTO "elsv_tally" VALUES(2,1,0,0,0,0,0,0,0,0,0,0,0,0,0);
INSERT INTO "elsv_tally" VALUES(2,2,1,1,0,0,0,0,0,0,0,0,0,0,0);
INSERT INTO "elsv_tally" VALUES(2,3,0,0,0,0,0,0,0,0,0,0,0,0,0);
CREATE INDEX elsv_open_expires ON elsv_open (campaign, expires) WHERE expires IS NOT NULL;
CREATE INDEX elsv_open_customer ON elsv_open (campaign, customer) WHERE customer IS NOT NULL;
COMMIT;
