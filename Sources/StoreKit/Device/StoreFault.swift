import Foundation
import TillHTTP

/// Why the store did not do what the device asked for.
enum StoreFault: Error, Sendable, Hashable {
    case noAnswer(HTTPFault)
    /// An answer that is none of the store's: HTML, an error of a proxy, a chaotic day.
    case unreadable(status: Int)
    /// A refusal with its stable code (docs/emulator.md).
    case refused(code: String, status: Int, title: String)

    /// What Apple's client would see of it on a real network (facts/storekit-client A7), where it is one of those.
    var networkError: URLError? {
        switch self {
        case .refused: nil
        case .unreadable: URLError(.badServerResponse)
        case .noAnswer(let fault):
            switch fault.kind {
            case .cannotResolve: URLError(.cannotFindHost)
            case .cannotConnect, .addressRefused: URLError(.cannotConnectToHost)
            case .timedOut: URLError(.timedOut)
            case .connectionLost: URLError(.networkConnectionLost)
            case .tls: URLError(.secureConnectionFailed)
            case .stopped: URLError(.cancelled)
            case .badURL: URLError(.badURL)
            case .answerTooLarge: URLError(.dataLengthExceedsMaximum)
            case .other: URLError(.notConnectedToInternet)
            }
        }
    }
}
