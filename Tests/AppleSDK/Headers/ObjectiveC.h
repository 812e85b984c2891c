// Names of the Objective-C runtime that Foundation re-exports, so that a type of ours with such a name is ambiguous.
typedef struct objc_method *Method;
typedef struct objc_ivar *Ivar;
typedef struct objc_category *Category;
typedef struct objc_property *objc_property_t;
typedef struct objc_selector *SEL;
