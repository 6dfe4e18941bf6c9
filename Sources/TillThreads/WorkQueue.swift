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

    package init(limit: Int) { self.limit = limit }

    /// How many elements wait.
    package var count: Int { monitor.withLock { elements.count - head } }

    /// - Returns: why the element was rejected, or nil if it will be handed out.
    package func add(_ element: Element) -> Refusal? {
        monitor.withLock {
            if isClosed { return .closed }
            guard elements.count - head < limit else { return .full }
            elements.append(element)
            if idleThreads > 0 { monitor.signal() }
            return nil
        }
    }

    /// Waits for work and takes up to `count` elements, oldest first. Empty once the queue is closed and drained.
    package func take(atMost count: Int) -> [Element] {
        monitor.withLock {
            while elements.count == head {
                if isClosed { return [] }
                idleThreads += 1
                monitor.wait()
                idleThreads -= 1
            }
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

    /// Elements added before are still handed out; new elements are rejected.
    package func close() {
        monitor.withLock {
            isClosed = true
            monitor.broadcast()
        }
    }
}
