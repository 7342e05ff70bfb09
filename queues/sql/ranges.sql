-- Cut the chosen items into ranges of ids that hold about so many of them each: their ids are counted by
-- chunks first, so that nothing is sorted but the chunks.
SELECT min(first), max(last)
  FROM (SELECT first, last, (sum(items) OVER (ORDER BY chunk) - 1)::bigint / %s AS part
          FROM (SELECT id / %s AS chunk, min(id) AS first, max(id) AS last, count(*) AS items
                  FROM (/* chosen */) AS chosen (id)
                 GROUP BY chunk) AS chunks) AS numbered
 GROUP BY part
 ORDER BY part
