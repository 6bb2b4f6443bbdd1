PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE leasehold_ledger (
    business_id TEXT NOT NULL,
    content BLOB NOT NULL,
    answer BLOB NOT NULL,
    store_id BLOB,
    job INTEGER,
    token INTEGER,
    recorded_at INTEGER NOT NULL
) STRICT;
INSERT INTO leasehold_ledger VALUES('order-1',X'6f6e65206275727269746f2000',X'656174656e2000206772c3b6c39f65',NULL,NULL,NULL,1700000000000);
INSERT INTO leasehold_ledger VALUES('order-2',X'776974682069747320726f756e64',X'',X'000102030405060708090a0b0c0d0e0f',7,2,1700000000000);
CREATE UNIQUE INDEX leasehold_ledger_id ON leasehold_ledger (business_id);
CREATE INDEX leasehold_ledger_age ON leasehold_ledger (recorded_at);
COMMIT;
