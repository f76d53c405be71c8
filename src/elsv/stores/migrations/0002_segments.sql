-- Who came, from 0, in campaigns whose customers are of segments.
ALTER TABLE elsv_decision ADD COLUMN segment INTEGER;
