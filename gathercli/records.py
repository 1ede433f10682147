"""Tools of the standard library that are quick to import; for mypy they are the usual ones.

The imports of `typing` and `enum` take half the time of ``python -c pass``, those of `contextlib`,
`functools` and `collections` a quarter; `typing.NamedTuple` takes 40 to 100 µs a class.
"""

from __future__ import annotations

__all__ = ["Any", "Callable", "Enum", "Final", "Iterable", "Iterator", "Mapping", "NamedTuple"]
__all__ += ["Self", "Sequence", "TypeAlias", "cached_property", "lru_cache", "partial", "suppress"]

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import suppress
    from enum import Enum
    from functools import cached_property, lru_cache, partial
    from typing import Any, Final, NamedTuple, Self, TypeAlias
else:
    from _collections_abc import Callable, Iterable, Iterator, Mapping, Sequence
    from _operator import itemgetter

    try:
        from _functools import _lru_cache_wrapper, partial
    except ImportError:  # PyPy
        from functools import _lru_cache_wrapper, partial

    Any = Final = Self = TypeAlias = None  # they stand in annotations, which are not evaluated

    def lru_cache(maxsize: int | None) -> Callable[..., Any]:
        """Keep the results of a function for the arguments it was called with last."""

        def decorate(compute: Callable[..., Any]) -> Callable[..., Any]:
            cached = _lru_cache_wrapper(compute, maxsize, False, lambda *counts: counts)
            for name in ("__module__", "__name__", "__qualname__", "__doc__"):
                setattr(cached, name, getattr(compute, name))
            cached.__wrapped__ = compute
            return cached

        return decorate

    class cached_property:  # noqa: N801
        """A property that is computed once."""

        def __init__(self, compute: Callable[[Any], Any]) -> None:
            self._compute, self.__doc__ = compute, compute.__doc__

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Return the value, which takes the place of the property."""
            if instance is None:
                return self
            value = instance.__dict__[self._compute.__name__] = self._compute(instance)
            return value

    class suppress:  # noqa: N801
        """A context that ends silently at some exceptions, of none if none is named."""

        def __init__(self, *exceptions: type[BaseException]) -> None:
            self._exceptions = exceptions

        def __enter__(self) -> None:
            pass

        def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
            return kind is not None and issubclass(kind, self._exceptions)

    class _Fields(type):
        """Make a property of each annotated attribute of a class."""

        def __new__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> type:
            fields = tuple(attributes.get("__annotations__", ()))
            if fields:
                defaults = {each: attributes.pop(each) for each in fields if each in attributes}
                attributes |= {each: property(itemgetter(n)) for n, each in enumerate(fields)}
                attributes |= {"_fields": fields, "_field_defaults": defaults}
                attributes["__match_args__"] = fields
            return super().__new__(cls, name, bases, {"__slots__": (), **attributes})

    class NamedTuple(tuple, metaclass=_Fields):
        """A tuple of the annotated attributes of a subclass.

        >>> class Point(NamedTuple):
        ...     x: int
        ...     y: int = 0
        >>> Point(1), Point(1)._replace(y=2), Point(y=4, x=3) == (3, 4)
        (Point(x=1, y=0), Point(x=1, y=2), True)
        """

        __slots__ = ()
        _fields: tuple[str, ...] = ()
        _field_defaults: dict[str, Any] = {}  # noqa: RUF012  (as in `typing`)

        def __new__(cls, *values: Any, **named: Any) -> Self:
            """Return a tuple of the fields: by position, by name, and by default."""
            if named:
                values = cls._by_name(values, named)
            missing = len(cls._fields) - len(values)
            if 0 < missing <= len(cls._field_defaults):  # the last fields have the defaults
                values += tuple(cls._field_defaults.values())[-missing:]
            elif missing:
                raise TypeError(f"{cls.__name__} has {len(cls._fields)} fields, not {len(values)}")
            return tuple.__new__(cls, values)

        @classmethod
        def _by_name(cls, values: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
            """Return the values of all fields."""
            defaults, rest = cls._field_defaults, cls._fields[len(values) :]
            try:
                values += tuple([named.pop(f) if f in named else defaults[f] for f in rest])
            except KeyError as missing:
                raise TypeError(f"{cls.__name__} has no value for {missing}") from None
            if named:
                raise TypeError(f"{cls.__name__} has no field for {', '.join(named)}")
            return values

        def _replace(self, **named: Any) -> Self:
            """Return a copy with other values for some fields."""
            return type(self)(**self._asdict() | named)

        def _asdict(self) -> dict[str, Any]:
            """Return the values by name."""
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self) -> str:
            values = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{type(self).__name__}({values})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            """Return the arguments that make a copy, for pickle."""
            return tuple(self)

    class _Members(type):
        """Turn each string of a class into a member."""

        def __new__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> type:
            members = super().__new__(cls, name, bases, attributes)
            members._by_value = {}
            for key, value in attributes.items():
                if isinstance(value, str) and not key.startswith("_"):
                    member = object.__new__(members)
                    member.name, member.value = key, value
                    members._by_value[value] = member
                    setattr(members, key, member)
            return members

        def __iter__(cls) -> Iterator[Any]:
            return iter(cls._by_value.values())

        def __call__(cls, value: Any) -> Any:
            """Return the member of a value, or a member itself."""
            if isinstance(value, cls):
                return value
            if value in cls._by_value:
                return cls._by_value[value]
            raise ValueError(f"{value!r} is not a valid {cls.__name__}")

    class Enum(metaclass=_Members):
        """One of a few strings, each a member of the class.

        >>> class Way(Enum):
        ...     WRAP = "wrap"
        ...     CLAMP = "clamp"
        >>> Way.WRAP, Way("clamp").name, [way.value for way in Way]
        (<Way.WRAP: 'wrap'>, 'CLAMP', ['wrap', 'clamp'])
        """

        def __str__(self) -> str:
            return f"{type(self).__name__}.{self.name}"

        def __repr__(self) -> str:
            return f"<{self}: {self.value!r}>"

        def __reduce__(self) -> tuple[Any, ...]:
            """Return what makes the same member, for copies and pickle."""
            return type(self), (self.value,)


class ErrorContext:
    """A context that passes an error to a function; `contextlib` would take twice as long."""

    __slots__ = ("_handle", "_origin")

    def __init__(self, handle: Callable[[Any, BaseException], None], origin: object) -> None:
        self._handle, self._origin = handle, origin

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, *_: object) -> None:
        if error is not None:
            self._handle(self._origin, error)
