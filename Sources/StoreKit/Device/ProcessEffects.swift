import Foundation
import TillCrypto

extension StoreEffects {
    /// Those of an app that runs as a process of its own.
    public static var process: StoreEffects {
        StoreEffects(
            pause: { milliseconds in try? await Task.sleep(for: .milliseconds(milliseconds)) },
            entropy: RandomBytes.make,
            spawn: { work in Task { await work() } },
            callback: { call in await MainActor.run { call() } })
    }
}
