# Empty: this part of pyACL is not implemented.
