/// A first-in, first-out queue of at most `limit` elements between threads, so memory stays bounded when the disk
/// cannot keep up.
// @unchecked: the monitor guards every variable.
package final class WorkQueue<Element>: @unchecked Sendable {
    /// Why an element was rejected.
    package enum Refusal { case closed, full }

    private let monitor = Monitor()
    package let limit: Int
    /// While other threads work, the next one begins with so many elements, or after `patience` milliseconds: few
    /// elements at a time cost more each.
    private let gathered: Int
    private let patience: Int
    private var elements: [Element] = []
    private var head = 0
    private var idleThreads = 0
    /// Threads that took elements and have not come back.
    private var workingThreads = 0
    private var isClosed = false

    package init(limit: Int, gathering gathered: Int = 1, patience: Int = 0) {
        self.limit = limit
        self.gathered = gathered
        self.patience = patience
    }

    /// How many elements wait.
    package var count: Int { monitor.withLock { elements.count - head } }

    /// - Returns: why the element was rejected, or nil if it will be handed out.
    package func add(_ element: Element) -> Refusal? {
        monitor.withLock {
            if isClosed { return .closed }
            guard elements.count - head < limit else { return .full }
            elements.append(element)
            let waiting = elements.count - head
            // The thread that waits for more elements is woken by the last of them alone.
            if idleThreads > 0, waiting == 1 || waiting >= gathered { monitor.signal() }
            return nil
        }
    }

    /// Waits for work and takes up to `count` elements, oldest first. Empty once the queue is closed and drained.
    ///
    /// - Parameter isBack: whether the thread has worked on elements that it took before.
    package func take(atMost count: Int, isBack: Bool = false) -> [Element] {
        monitor.withLock {
            if isBack {
                workingThreads -= 1
                if workingThreads == 0, idleThreads > 0 { monitor.signal() }
            }
            while elements.count == head || isGathering {
                if elements.count == head, isClosed { return [] }
                idleThreads += 1
                var isInTime = true
                if elements.count == head { monitor.wait() } else { isInTime = monitor.wait(milliseconds: patience) }
                idleThreads -= 1
                if !isInTime, elements.count > head { break }
            }
            workingThreads += 1
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
            if elements.count > head, idleThreads > 0 { monitor.signal() }
            return taken
        }
    }

    private var isGathering: Bool {
        patience > 0 && workingThreads > 0 && elements.count - head < gathered && !isClosed
    }

    /// Elements added before are still handed out; new elements are rejected.
    package func close() {
        monitor.withLock {
            isClosed = true
            monitor.broadcast()
        }
    }
}
