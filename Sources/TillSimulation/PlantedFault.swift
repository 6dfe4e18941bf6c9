/// A mistake in our own code, to see that it is found.
public enum PlantedFault: String, Sendable, Hashable, CaseIterable {
    case none
}
