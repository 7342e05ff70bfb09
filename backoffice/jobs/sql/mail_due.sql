-- Take the notices that are to be mailed, so that no copy of the loop mails one twice. Old ones are not news.
UPDATE job_notice SET mailed_at = clock_timestamp()
 WHERE id IN (SELECT id FROM job_notice
               WHERE mailed_at IS NULL AND at > clock_timestamp() - %(newest)s::interval
               ORDER BY at LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
RETURNING id
