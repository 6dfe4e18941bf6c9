// Apple's StoreKit exports Foundation, so code written for it has `import StoreKit` alone.
@_exported import Foundation
