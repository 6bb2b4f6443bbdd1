-- held: 92bbb3c89302e65e04416fa9ac8dbef3/4/1/1/1700007200000/A
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE leasehold_meta (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    schema_version INTEGER NOT NULL,
    store_id BLOB NOT NULL,
    clock_axis TEXT NOT NULL
) STRICT;
INSERT INTO leasehold_meta VALUES(1,2,X'92bbb3c89302e65e04416fa9ac8dbef3','manual');
CREATE TABLE leasehold_job (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    queue TEXT NOT NULL,
    key TEXT,
    priority INTEGER NOT NULL,
    enqueued_at INTEGER NOT NULL,
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 4),
    owner TEXT,
    token INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    lease_until INTEGER,
    deadline INTEGER,
    waits INTEGER NOT NULL CHECK (waits IN (0, 1)),
    vests_at INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    lapses INTEGER NOT NULL,
    ended_by INTEGER,
    ended_at INTEGER,
    reason TEXT,
    last_error TEXT
) STRICT;
INSERT INTO leasehold_job VALUES(1,'default','plain',0,1700000000000,0,NULL,0,0,5,NULL,NULL,0,1700000000000,0,0,NULL,NULL,NULL,NULL);
INSERT INTO leasehold_job VALUES(2,'default','urgent',7,1700000000000,0,NULL,0,0,5,NULL,NULL,0,1700000000000,0,0,NULL,NULL,NULL,NULL);
INSERT INTO leasehold_job VALUES(3,'default','later',0,1700000000000,0,NULL,0,0,5,NULL,NULL,1,1700003600000,0,0,NULL,NULL,NULL,NULL);
INSERT INTO leasehold_job VALUES(4,'held','held',0,1700000000000,1,'A',1,1,5,1700007200000,NULL,1,1700007200000,0,0,NULL,NULL,NULL,NULL);
INSERT INTO leasehold_job VALUES(5,'failed','failed',0,1700000000000,0,NULL,1,1,5,NULL,NULL,1,1700003600000,1,0,NULL,NULL,NULL,'no route');
INSERT INTO leasehold_job VALUES(6,'released','released',0,1700000000000,0,NULL,1,0,5,NULL,NULL,0,1700000000000,0,0,NULL,NULL,NULL,NULL);
INSERT INTO leasehold_job VALUES(7,'finished','finished',0,1700000000000,2,'A',1,1,5,1700000600000,NULL,1,1700000600000,0,0,0,1700000000000,NULL,NULL);
INSERT INTO leasehold_job VALUES(8,'set aside','set aside',0,1700000000000,3,'A',1,1,5,1700000600000,NULL,1,1700000600000,0,0,0,1700000000000,'a person must look',NULL);
INSERT INTO leasehold_job VALUES(9,'cancelled','cancelled',0,1700000000000,4,NULL,0,0,5,NULL,NULL,0,1700000000000,0,0,2,1700000000000,NULL,NULL);
INSERT INTO leasehold_job VALUES(10,'used up',NULL,0,1700000000000,3,'A',1,1,1,1700000600000,NULL,1,1700000600000,1,0,0,1700000000000,'attempts_exhausted','no');
INSERT INTO leasehold_job VALUES(11,'short',NULL,0,1700000000000,0,NULL,0,0,5,NULL,1700003600000,0,1700000000000,0,0,NULL,NULL,NULL,NULL);
CREATE TABLE leasehold_payload (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
INSERT INTO leasehold_payload VALUES(1,X'00ff0a27');
INSERT INTO leasehold_payload VALUES(2,X'6e6f77');
INSERT INTO leasehold_payload VALUES(3,X'696e20616e20686f7572');
INSERT INTO leasehold_payload VALUES(4,X'6772c3b6c39f65');
INSERT INTO leasehold_payload VALUES(5,X'6772c3b6c39f65');
INSERT INTO leasehold_payload VALUES(6,X'6772c3b6c39f65');
INSERT INTO leasehold_payload VALUES(7,X'6772c3b6c39f65');
INSERT INTO leasehold_payload VALUES(8,X'6772c3b6c39f65');
INSERT INTO leasehold_payload VALUES(9,X'6772c3b6c39f65');
CREATE TABLE leasehold_checkpoint (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
INSERT INTO leasehold_checkpoint VALUES(4,X'68616c66200020776179');
CREATE TABLE leasehold_result (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
INSERT INTO leasehold_result VALUES(7,X'3432');
CREATE TABLE leasehold_receipt (
    id INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    token INTEGER NOT NULL,
    owner TEXT NOT NULL,
    at INTEGER NOT NULL,
    note TEXT NOT NULL
) STRICT;
INSERT INTO leasehold_receipt VALUES(1,8,1,'A',1700000000000,'sent as 7');
CREATE TABLE leasehold_anchor (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    boot_id TEXT NOT NULL,
    time_namespace TEXT NOT NULL,
    booted_at INTEGER NOT NULL,
    high_water INTEGER NOT NULL
) STRICT;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('leasehold_job',11);
CREATE INDEX leasehold_open ON leasehold_job (queue, priority, waits, vests_at, id) WHERE state <= 1;
CREATE UNIQUE INDEX leasehold_key ON leasehold_job (queue, key) WHERE key IS NOT NULL;
CREATE INDEX leasehold_ended ON leasehold_job (state, ended_at) WHERE state >= 2;
CREATE INDEX leasehold_receipt_of ON leasehold_receipt (job);
COMMIT;
