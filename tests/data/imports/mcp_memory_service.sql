CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT, content_hash TEXT UNIQUE NOT NULL, content TEXT NOT NULL, tags TEXT,
  memory_type TEXT, metadata TEXT, created_at REAL, updated_at REAL, created_at_iso TEXT, updated_at_iso TEXT, deleted_at REAL);
INSERT INTO memories VALUES (1,'h1','Deploys run on Tuesdays.','deploy,team','note','{"project":"ledger"}',1740000000.5,1740000001.0,NULL,NULL,NULL);
INSERT INTO memories VALUES (2,'h2','Restart with: make restart','ops,restart','procedure','not json',NULL,NULL,'2025-02-19T21:21:40Z',NULL,NULL);
INSERT INTO memories VALUES (3,'h3','A text that was deleted.','','note','{}',1740000200.0,NULL,NULL,NULL,1740000300.0);
-- The table of its vectors, whose module is not here.
PRAGMA writable_schema=ON;
INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) VALUES ('table', 'memory_embeddings', 'memory_embeddings', 0,
  'CREATE VIRTUAL TABLE memory_embeddings USING vec0(content_embedding FLOAT[384])');
PRAGMA writable_schema=OFF;
