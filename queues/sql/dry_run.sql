-- Put the items in the order of both versions and compare their places; overrides are left out of it.
WITH found (id, reference, opened_at, score, next_score) AS MATERIALIZED (
    /* both versions' SELECT */
), counted AS (
    SELECT *, count(*) OVER () > %s AS bounded
      FROM found
), placed AS MATERIALIZED (
    SELECT *,
           row_number() OVER (ORDER BY score DESC, opened_at, id) AS place,
           row_number() OVER (ORDER BY next_score DESC, opened_at, id) AS next_place
      FROM counted
)
SELECT count(*),
       coalesce(bool_or(bounded), false),
       count(*) FILTER (WHERE score <> next_score),
       count(*) FILTER (WHERE place <> next_place),
       count(*) FILTER (WHERE place <> next_place AND (place <= %s OR next_place <= %s)),
       count(*) FILTER (WHERE place <= %s AND next_place > %s),
       coalesce(round(avg(abs(place - next_place)) FILTER (WHERE place <> next_place AND least(place, next_place) <= 100)), 0)::int,
       (SELECT jsonb_agg(largest)
          FROM (SELECT id, reference, place, next_place, score, next_score
                  FROM placed
                 WHERE place <> next_place
                 ORDER BY abs(place - next_place) DESC, place
                 LIMIT %s) AS largest)
  FROM placed
