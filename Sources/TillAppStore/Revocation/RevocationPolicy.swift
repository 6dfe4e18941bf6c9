/// Whether Apple is asked if a certificate was revoked.
public enum RevocationPolicy: String, Sendable, CaseIterable {
    /// Never.
    case off
    /// Before the proof counts; where no answer is to be had, it counts on its signature (U7).
    case soft
    /// Before the proof counts; without an answer it waits.
    case hard
}
