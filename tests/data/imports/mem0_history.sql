CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, created_at DATETIME,
  updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT);
INSERT INTO history VALUES ('1','m-1',NULL,'Allergic to nuts','ADD','2025-03-01T10:00:00','',0,NULL,NULL);
INSERT INTO history VALUES ('2','m-2',NULL,'Lives in Bremen','ADD','2025-03-02T10:00:00',NULL,0,NULL,NULL);
INSERT INTO history VALUES ('3','m-1','Allergic to nuts','Allergic to peanuts','UPDATE','2025-03-01T10:00:00','2025-04-01T10:00:00',0,NULL,NULL);
INSERT INTO history VALUES ('4','m-2','Lives in Bremen',NULL,'DELETE','2025-05-02T10:00:00',NULL,1,NULL,NULL);
