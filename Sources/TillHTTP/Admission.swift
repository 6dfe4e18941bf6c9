/// Whether the body of a request is taken. Asked once, with what came before the body, when more than
/// ``ListenerConfiguration/bodyBeforeAdmission`` of body is announced or has come: a stranger's long body costs no
/// memory before somebody has looked at who sends it.
public enum Admission: Sendable {
    /// The body is read to its end. What is held is let go of when the request is over.
    case admitted(holding: (any Sendable)? = nil)
    /// The response is sent at once, what still comes of the body is thrown away, and the connection is closed.
    case refused(HTTPResponse)

    /// Decides by a request without its body.
    /// - Parameter length: how many bytes of body may come: as announced, or as many as the route takes.
    public typealias Decide = @Sendable (_ head: HTTPRequest, _ length: Int) -> Admission
}
