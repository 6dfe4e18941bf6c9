import TillBilling
import TillHTTP

/// What goes wrong on purpose.
extension ControlEndpoint {
    func addFaults(to routes: inout ControlRoutes) {}
}
