import Foundation
import StoreKit
import TillThreads

/// Records the elements of one of StoreKit's sequences on a device.
final class EventRecorder<Element: Sendable>: Sendable {
    private let stored: Locked<[Element]>
    private let over: Locked<Bool>
    private let task: Task<Void, Never>

    init<Source: AsyncSequence>(
        on device: EmulatedDevice, _ source: @escaping @Sendable () -> Source
    ) where Source.Element == Element, Source: SendableMetatype, Source.AsyncIterator: SendableMetatype {
        let (stored, over) = (Locked<[Element]>([]), Locked(false))
        (self.stored, self.over) = (stored, over)
        task = EmulatedDevice.$current.withValue(device) {
            Task {
                do {
                    for try await element in source() { stored.withLock { $0.append(element) } }
                } catch {}
                over.withLock { $0 = true }
            }
        }
    }

    var received: [Element] { stored.withLock { $0 } }
    var isOver: Bool { over.withLock { $0 } }

    /// Waits for this many elements, and a while longer for surplus ones.
    func receives(_ count: Int) async -> [Element] {
        await until { self.received.count >= count }
        try? await Task.sleep(for: .milliseconds(60))
        return received
    }

    func end() async {
        task.cancel()
        await task.value
    }
}
