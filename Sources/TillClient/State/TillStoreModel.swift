#if canImport(Combine)
    import Combine

    /// The store's state for SwiftUI. Keep one for the life of the app, and pass it on as an environment object.
    @MainActor
    public final class TillStoreModel: ObservableObject {
        /// What the kit knows now.
        @Published public private(set) var state: StoreState
        /// The store itself, for purchases.
        public let store: TillStore
        private var following: Task<Void, Never>?

        /// Creates a model that follows the store.
        public init(_ store: TillStore) {
            self.store = store
            state = store.state
            let states = store.states
            following = Task { [weak self] in
                for await state in states { self?.state = state }
            }
        }

        deinit { following?.cancel() }
    }
#endif
