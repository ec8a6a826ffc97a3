// The place of a call in a Python program, for the checker: taken where the program calls an operator, used where the
// thread of the task queue submits it.
#pragma once

#include <memory>

#include "softacl/softacl.h"

extern "C" {
void *softaclTakePlace(void);
void softaclEnterPlace(const void *place);
void softaclLeavePlace(void);
void softaclReleasePlace(void *place);
}

namespace softacl_torch {

// Shared by the copies of a queued function. Empty without the checker.
using Place = std::shared_ptr<void>;

inline bool is_checking() {
    static const bool found = softaclIsChecking() != 0;
    return found;
}

inline Place take_place() {
    if (!is_checking()) return nullptr;
    void *place = softaclTakePlace();
    return place == nullptr ? nullptr : Place(place, softaclReleasePlace);
}

// Calls of this thread are located at a place, until the end of the block.
class AtPlace {
public:
    explicit AtPlace(const Place &place) : is_known_(place != nullptr) {
        if (is_known_) softaclEnterPlace(place.get());
    }
    ~AtPlace() {
        if (is_known_) softaclLeavePlace();
    }
    AtPlace(const AtPlace &) = delete;

private:
    bool is_known_;
};

}  // namespace softacl_torch
