CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT);
CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT, title TEXT,
  subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT, created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, request TEXT, investigated TEXT,
  learned TEXT, completed TEXT, next_steps TEXT, created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, content_session_id TEXT, prompt_text TEXT);
INSERT INTO observations VALUES (1,'s1','ledger',NULL,'decision','Money is kept in cents','Sub','["Amounts are integers","Cents avoid rounding"]','Floats lost cents in March.','["money","rounding"]','[]','["app/money.py"]','2025-10-01T08:00:00Z',1759305600000);
INSERT INTO observations VALUES (2,'s1','ledger',NULL,'decision','Money is kept in cents','Sub','["Amounts are integers","Cents avoid rounding"]','Floats lost cents in March.','["money","rounding"]','[]','["app/money.py"]','2025-10-01T08:00:00Z',1759305600000);
INSERT INTO observations VALUES (3,'s2','garden','Old version text',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1759305700000);
INSERT INTO session_summaries VALUES (1,'s1','ledger','Fix the rounding','Looked at money.py',NULL,'Switched to cents','Migrate old rows','2025-10-01T09:00:00Z',1759309200000);
INSERT INTO user_prompts VALUES (1,'c1','fix the rounding please');
