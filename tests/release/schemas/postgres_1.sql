-- held: 4d72303e48752a2795d941faa55ee77b/4/1/1/1700007200000/A
CREATE SCHEMA leasehold;
CREATE TABLE leasehold.leasehold_job (
    id bigint NOT NULL,
    enqueued_at bigint NOT NULL,
    token bigint NOT NULL,
    vests_at bigint NOT NULL,
    lease_until bigint,
    deadline bigint,
    failures bigint NOT NULL,
    lapses bigint NOT NULL,
    ended_at bigint,
    priority integer NOT NULL,
    attempt integer NOT NULL,
    max_attempts integer NOT NULL,
    state smallint NOT NULL,
    ended_by smallint,
    waits boolean NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    owner text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    reason text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    last_error text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    payload bytea NOT NULL,
    result bytea DEFAULT '\x'::bytea NOT NULL,
    checkpoint bytea DEFAULT '\x'::bytea NOT NULL,
    CONSTRAINT leasehold_job_state_check CHECK (((state >= 0) AND (state <= 4)))
)
WITH (fillfactor='50', toast_tuple_target='256', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_cost_delay='0', autovacuum_vacuum_insert_scale_factor='0.2', autovacuum_analyze_scale_factor='0.2');
ALTER TABLE leasehold.leasehold_job ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME leasehold.leasehold_job_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE leasehold.leasehold_meta (
    only_row smallint NOT NULL,
    schema_version bigint NOT NULL,
    store_id bytea NOT NULL,
    clock_axis text NOT NULL,
    listened_until bigint DEFAULT 0 NOT NULL,
    CONSTRAINT leasehold_meta_only_row_check CHECK ((only_row = 1))
);
CREATE TABLE leasehold.leasehold_receipt (
    id bigint NOT NULL,
    job bigint NOT NULL,
    token bigint NOT NULL,
    at bigint NOT NULL,
    owner text NOT NULL COLLATE pg_catalog."C",
    note text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE leasehold.leasehold_receipt ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME leasehold.leasehold_receipt_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
INSERT INTO leasehold.leasehold_job OVERRIDING SYSTEM VALUE VALUES (1, 1700000000000, 0, 1700000000000, NULL, NULL, 0, 0, NULL, 0, 0, 5, 0, NULL, false, 'default', 'plain', '', '', '', '\x00ff0a27', '\x', '\x');
INSERT INTO leasehold.leasehold_job OVERRIDING SYSTEM VALUE VALUES (2, 1700000000000, 0, 1700000000000, NULL, NULL, 0, 0, NULL, 7, 0, 5, 0, NULL, false, 'default', 'urgent', '', '', '', '\x6e6f77', '\x', '\x');
INSERT INTO leasehold.leasehold_job OVERRIDING SYSTEM VALUE VALUES (3, 1700000000000, 0, 1700003600000, NULL, NULL, 0, 0, NULL, 0, 0, 5, 0, NULL, true, 'default', 'later', '', '', '', '\x696e20616e20686f7572', '\x', '\x');
INSERT INTO leasehold.leasehold_job OVERRIDING SYSTEM VALUE VALUES (11, 1700000000000, 0, 1700000000000, NULL, 1700003600000, 0, 0, NULL, 0, 0, 5, 0, NULL, false, 'short', NULL, '', '', '', '\x', '\x', '\x');
INSERT INTO leasehold.leasehold_job OVERRIDING SYSTEM VALUE VALUES (4, 1700000000000, 1, 1700007200000, 1700007200000, NULL, 0, 0, NULL, 0, 1, 5, 1, NULL, true, 'held', 'held', 'A', '', '', '\x6772c3b6c39f65', '\x', '\x68616c66200020776179');
INSERT INTO leasehold.leasehold_job OVERRIDING SYSTEM VALUE VALUES (5, 1700000000000, 1, 1700003600000, NULL, NULL, 1, 0, NULL, 0, 1, 5, 0, NULL, true, 'failed', 'failed', '', '', 'no route', '\x6772c3b6c39f65', '\x', '\x');
INSERT INTO leasehold.leasehold_job OVERRIDING SYSTEM VALUE VALUES (6, 1700000000000, 1, 1700000000000, NULL, NULL, 0, 0, NULL, 0, 0, 5, 0, NULL, false, 'released', 'released', '', '', '', '\x6772c3b6c39f65', '\x', '\x');
INSERT INTO leasehold.leasehold_job OVERRIDING SYSTEM VALUE VALUES (7, 1700000000000, 1, 1700000600000, 1700000600000, NULL, 0, 0, 1700000000000, 0, 1, 5, 2, 0, true, 'finished', 'finished', 'A', '', '', '\x6772c3b6c39f65', '\x3432', '\x');
INSERT INTO leasehold.leasehold_job OVERRIDING SYSTEM VALUE VALUES (8, 1700000000000, 1, 1700000600000, 1700000600000, NULL, 0, 0, 1700000000000, 0, 1, 5, 3, 0, true, 'set aside', 'set aside', 'A', 'a person must look', '', '\x6772c3b6c39f65', '\x', '\x');
INSERT INTO leasehold.leasehold_job OVERRIDING SYSTEM VALUE VALUES (9, 1700000000000, 0, 1700000000000, NULL, NULL, 0, 0, 1700000000000, 0, 0, 5, 4, 2, false, 'cancelled', 'cancelled', '', '', '', '\x6772c3b6c39f65', '\x', '\x');
INSERT INTO leasehold.leasehold_job OVERRIDING SYSTEM VALUE VALUES (10, 1700000000000, 1, 1700000600000, 1700000600000, NULL, 1, 0, 1700000000000, 0, 1, 1, 3, 0, true, 'used up', NULL, 'A', 'attempts_exhausted', 'no', '\x', '\x', '\x');
INSERT INTO leasehold.leasehold_meta VALUES (1, 1, '\x4d72303e48752a2795d941faa55ee77b', 'manual', 0);
INSERT INTO leasehold.leasehold_receipt OVERRIDING SYSTEM VALUE VALUES (1, 8, 1, 1700000000000, 'A', 'sent as 7');
SELECT pg_catalog.setval('leasehold.leasehold_job_id_seq', 11, true);
SELECT pg_catalog.setval('leasehold.leasehold_receipt_id_seq', 1, true);
ALTER TABLE ONLY leasehold.leasehold_job
    ADD CONSTRAINT leasehold_job_pkey PRIMARY KEY (id);
ALTER TABLE ONLY leasehold.leasehold_meta
    ADD CONSTRAINT leasehold_meta_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY leasehold.leasehold_receipt
    ADD CONSTRAINT leasehold_receipt_pkey PRIMARY KEY (id);
CREATE INDEX leasehold_ended ON leasehold.leasehold_job USING btree (state, ended_at, id) WHERE (state >= 2);
CREATE UNIQUE INDEX leasehold_key ON leasehold.leasehold_job USING btree (queue, key) WHERE (key IS NOT NULL);
CREATE INDEX leasehold_line ON leasehold.leasehold_job USING btree (queue, priority, vests_at, id) WHERE ((state = 0) AND (NOT waits));
CREATE INDEX leasehold_open ON leasehold.leasehold_job USING btree (queue, priority, vests_at, id) WHERE ((state <= 1) IS TRUE);
CREATE INDEX leasehold_receipt_of ON leasehold.leasehold_receipt USING btree (job);
