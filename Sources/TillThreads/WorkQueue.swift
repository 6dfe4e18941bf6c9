/// A first-in, first-out queue of at most `limit` elements between threads, so memory stays bounded when the disk
/// cannot keep up.
// @unchecked: the monitor guards every variable.
package final class WorkQueue<Element>: @unchecked Sendable {
    /// Why an element was rejected.
    package enum Refusal { case closed, full }

    private let monitor = Monitor()
    package let limit: Int
    private var elements: [Element] = []
    private var head = 0
    private var idleThreads = 0
    private var isClosed = false
    /// How many elements a thread that gathers wants; nil while none gathers.
    private var wanted: Int?
    /// Whether several elements were there at once when a thread last took some.
    private var isBusy = false

    package init(limit: Int) { self.limit = limit }

    /// How many elements wait.
    package var count: Int { monitor.withLock { elements.count - head } }

    /// - Returns: why the element was rejected, or nil if it will be handed out.
    package func add(_ element: Element) -> Refusal? {
        monitor.withLock {
            if isClosed { return .closed }
            guard elements.count - head < limit else { return .full }
            elements.append(element)
            if let wanted {
                if elements.count - head >= wanted { monitor.broadcast() }
            } else if idleThreads > 0 {
                monitor.signal()
            }
            return nil
        }
    }

    /// How a thread waits for more elements than one, because many together are cheaper.
    package struct Gathering: Sendable {
        /// Milliseconds after which a thread that has found no further element goes on.
        package var pause: Int
        /// The largest number of pauses. 0: never wait.
        package var pauses: Int

        package init(pause: Int, pauses: Int) { (self.pause, self.pauses) = (pause, pauses) }
    }

    /// Waits for work and takes up to `count` elements, oldest first. Empty once the queue is closed and drained.
    ///
    /// - Parameter gathering: while several elements come at once, waits for `count` of them as long as more arrive.
    package func take(atMost count: Int, _ gathering: Gathering? = nil) -> [Element] {
        monitor.withLock {
            while elements.count == head || wanted != nil {
                if isClosed, elements.count == head { return [] }
                idleThreads += 1
                monitor.wait()
                idleThreads -= 1
            }
            if isBusy, let gathering { gather(count, gathering) }
            isBusy = elements.count - head > 1
            let end = min(head + count, elements.count)
            let taken = Array(elements[head..<end])
            if end == elements.count {
                elements.removeAll(keepingCapacity: elements.capacity <= 1024)
                head = 0
            } else if end >= 1024 {
                // Moves the remaining elements once for every 1024 elements, not once for every batch.
                elements.removeFirst(end)
                head = 0
            } else {
                head = end
            }
            return taken
        }
    }

    /// One thread at a time gathers, and is woken when it has what it wants: each wake-up costs as much as an element.
    private func gather(_ count: Int, _ gathering: Gathering) {
        wanted = count
        for _ in 0..<gathering.pauses where elements.count - head < count && !isClosed {
            let before = elements.count
            monitor.wait(milliseconds: gathering.pause)
            if elements.count == before { break }
        }
        wanted = nil
        if isClosed { monitor.broadcast() } else if idleThreads > 0, elements.count - head > count { monitor.signal() }
    }

    /// Elements added before are still handed out; new elements are rejected.
    package func close() {
        monitor.withLock {
            isClosed = true
            monitor.broadcast()
        }
    }
}
