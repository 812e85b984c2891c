/// A type whose name Foundation re-exports from the Objective-C runtime.
public enum Category {
    case one
}
