// A public type with a name of the Objective-C runtime cannot be named in a file that imports Foundation.
import Foundation
import Names

func category() -> Category {  // error: 'Category' is ambiguous for type lookup in this context
    .one
}
