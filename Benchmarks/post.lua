-- For wrk: posts each line of a file once, as a signed transaction. PROOFS names the file, KEY the secret key, THREADS
-- how many threads wrk was given: each begins at its own share of the file.
local threads = tonumber(os.getenv("THREADS") or "1")
local number = 0

function setup(thread)
  thread:set("number", number)
  thread:set("threads", threads)
  number = number + 1
end

function init()
  file = assert(io.open(os.getenv("PROOFS"), "rb"))
  file:setvbuf("full", 1048576)
  local size = file:seek("end")
  file:seek("set", math.floor(size * number / threads))
  if number > 0 then file:read("*l") end
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Authorization"] = "Bearer " .. os.getenv("KEY")
end

function request()
  local line = file:read("*l")
  if not line then
    -- All proofs are used: from here on the server sees them again, which the count of grants shows.
    file:seek("set", 0)
    line = file:read("*l")
  end
  return wrk.format(nil, nil, nil, '{"signedTransaction":"' .. line .. '"}')
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("%d %.3f %.2f %.2f %d %d\n", summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
