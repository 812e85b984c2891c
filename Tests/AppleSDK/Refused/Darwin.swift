// What only Linux has, or has with another type.
import FoundationEssentials  // error: no such module 'FoundationEssentials'
