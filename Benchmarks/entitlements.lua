-- For wrk with one thread: reads the entitlements of customers in turn, whom `till-load customers` named: NAME-0, …
-- NAME and CUSTOMERS: which, and how many; KEY is the secret key.
function init()
  number, count, name = -1, tonumber(os.getenv("CUSTOMERS")), os.getenv("NAME")
  wrk.headers["Authorization"] = "Bearer " .. os.getenv("KEY")
end

function request()
  number = (number + 1) % count
  return wrk.format("GET", "/v1/users/" .. name .. "-" .. number .. "/entitlements")
end

-- Reads a second, p50 and p99 in milliseconds, answers, answers that were not 2xx, failed connections.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("RESULT %.0f %.2f %.2f %d %d %d\n", summary.requests / (summary.duration / 1e6),
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, summary.requests, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
