import Foundation
import TillThreads

/// Sends requests at a fixed rate. Each is sent at its scheduled time, whether or not earlier ones are answered, and
/// its latency counts from then.
struct PacedRequests {
    let port: UInt16
    let perSecond: Int
    var threads = 16

    /// Milliseconds, and requests that were not answered 200.
    struct Latencies {
        let median: Double
        let tail: Double
        let failed: Int
    }

    func send(_ requests: [[UInt8]]) -> Latencies {
        let next = Locked(0)
        let times = Locked<(milliseconds: [Double], failed: Int)>(([], 0))
        let clock = ContinuousClock()
        let start = clock.now
        let rate = perSecond
        let port = port
        onThreads(threads) { _ in
            let client = RawClient(port: port)
            while true {
                let number = next.withLock { next in
                    next += 1
                    return next - 1
                }
                guard number < requests.count else { return }
                let due = start + .nanoseconds(Int64(number) * 1_000_000_000 / Int64(rate))
                wait(until: due, clock)
                let status = client.send(requests[number])
                let taken = (clock.now - due) / .milliseconds(1)
                times.withLock { times in
                    times.milliseconds.append(taken)
                    if status != 200 { times.failed += 1 }
                }
            }
        }
        let (taken, failed) = times.withLock { ($0.milliseconds.sorted(), $0.failed) }
        return Latencies(median: taken[taken.count / 2], tail: taken[taken.count * 99 / 100], failed: failed)
    }
}

func wait(until due: ContinuousClock.Instant, _ clock: ContinuousClock) {
    let left = (due - clock.now) / .microseconds(1)
    if left > 0 { usleep(UInt32(min(left, 10_000_000))) }
}

/// Runs `body` once on each of `count` threads and waits for all of them.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let group = DispatchGroup()
    for number in 0..<count {
        group.enter()
        Thread.detachNewThread {
            body(number)
            group.leave()
        }
    }
    group.wait()
}
