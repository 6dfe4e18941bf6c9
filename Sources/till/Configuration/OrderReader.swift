import TillBilling
import TillServer

/// `orders.acceptUnprovenIdsUntil`. What is left out is as in an empty file.
extension ConfigurationReader {
    mutating func readOrders() -> OrderSettings {
        OrderSettings(acceptUnprovenIDsUntil: setting(.acceptUnprovenIDsUntil).flatMap { readTime($0) })
    }
}
