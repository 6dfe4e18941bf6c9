import Foundation
import StoreKit
import TillThreads

/// Records the elements of one of StoreKit's sequences on a device.
final class Ear<Element: Sendable>: Sendable {
    private let kept: Locked<[Element]>
    private let over: Locked<Bool>
    private let task: Task<Void, Never>

    init<Source: AsyncSequence>(
        on device: EmulatedDevice, _ source: @escaping @Sendable () -> Source
    ) where Source.Element == Element, Source: SendableMetatype, Source.AsyncIterator: SendableMetatype {
        let (kept, over) = (Locked<[Element]>([]), Locked(false))
        (self.kept, self.over) = (kept, over)
        task = EmulatedDevice.$current.withValue(device) {
            Task {
                do {
                    for try await element in source() { kept.withLock { $0.append(element) } }
                } catch {}
                over.withLock { $0 = true }
            }
        }
    }

    var heard: [Element] { kept.withLock { $0 } }
    var isOver: Bool { over.withLock { $0 } }

    /// Waits for this many elements, and a while longer for surplus ones.
    func hears(_ count: Int) async -> [Element] {
        await until { self.heard.count >= count }
        try? await Task.sleep(for: .milliseconds(60))
        return heard
    }

    func end() async {
        task.cancel()
        await task.value
    }
}
