-- For wrk with one thread: posts each signed transaction of a file once. PROOFS names the file that `till-load make`
-- wrote: the first line is the header all of them share, the others are what follows it. KEY is the secret key.
-- USERS: the backend names the customer, as `till-load` numbers so many; FIRST and STEP: the numbers of the proofs in the
-- file. PAUSE: milliseconds between two requests. ANSWERED: a file for the transactions that were answered as granted.
function init()
  file = assert(io.open(os.getenv("PROOFS"), "rb"))
  file:setvbuf("full", 1048576)
  header = file:read("*l")
  first = file:seek()
  users = tonumber(os.getenv("USERS"))
  begin, step = tonumber(os.getenv("FIRST") or "0"), tonumber(os.getenv("STEP") or "1")
  number = begin - step
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Authorization"] = "Bearer " .. os.getenv("KEY")
end

function request()
  local rest = file:read("*l")
  if not rest then
    -- All are used: from here on the server sees them again, which the count of grants shows.
    file:seek("set", first)
    rest = file:read("*l")
    number = begin - step
  end
  number = number + step
  local named = users and ',"userId":"user-' .. number % users .. '"' or ''
  return wrk.format(nil, nil, nil, '{"signedTransaction":"' .. header .. rest .. '"' .. named .. '}')
end

if os.getenv("PAUSE") then
  function delay() return tonumber(os.getenv("PAUSE")) end
end

if os.getenv("ANSWERED") then
  function response(status, headers, body)
    if status ~= 200 then return end
    if not answered then
      answered = assert(io.open(os.getenv("ANSWERED"), "ab"))
      answered:setvbuf("line")
    end
    local id = body:match('"transactionId":"(%d+)"')
    if id then answered:write(id, "\n") end
  end
end

-- Requests a second, p50 and p99 in milliseconds, requests answered, answers that were not 2xx, failed connections.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("RESULT %.0f %.2f %.2f %d %d %d\n", summary.requests / (summary.duration / 1e6),
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, summary.requests, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
